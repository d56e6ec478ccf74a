"use strict";
// Keys: a press clicks what has it as data-key, in the pair that has the focus or in the first.
const keys = document.getElementById("keys");
const isOff = () => localStorage.getItem("keys") === "off";
const say = () => { if (keys) { keys.hidden = false; keys.textContent = isOff() ? "Keys are off" : "Keys are on"; } };
keys?.addEventListener("click", () => { localStorage.setItem("keys", isOff() ? "on" : "off"); say(); });
say();
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const wanted = `[data-key="${CSS.escape(event.key.toLowerCase())}"]`;
  const pair = document.activeElement.closest("[data-pair]");
  const found = pair?.querySelector(wanted) || document.querySelector(wanted);
  if (!found) return;
  event.preventDefault();
  found.matches("input") ? found.focus() : found.click();
});
addEventListener("hashchange", () => document.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`)?.focus());
// The feed: whether its last request was answered.
document.addEventListener("htmx:finally:request", (event) => {
  const lost = document.getElementById("lost");
  if (lost) lost.hidden = event.detail.ctx.response?.status === 200;
});
