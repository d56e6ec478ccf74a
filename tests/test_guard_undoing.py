"""Verbs of programs that undo each other, each pair in one sentence that is otherwise the same."""

import re

import pytest

from fleet_memory.rules.guard import objection

# A sentence, then the verbs that stand for ___ in it.
UNDOING = """
git: ___ the hotfix branch before the release | create delete, create remove, make delete, add drop
git: ___ generated files in the working copy | stage unstage, track untrack, track ignore, commit ignore
git: ___ the change on main | commit revert, apply revert, merge revert, cherry-pick revert, commit reset
git: ___ your local edits | stash pop, keep discard, save drop, commit discard
git: ___ the rebase when it conflicts | continue abort, start abort
git: ___ the worktree of the release branch | lock unlock, add remove
docker: ___ the container in the nightly job | start stop, pause unpause, run kill, create remove, attach detach
docker: ___ the image cache on every runner | build clear, fill empty, warm purge, build prune, populate clear
docker: ___ the base image in CI | pull push, save load, build delete
docker: ___ the private registry before the build | lock unlock, log\u00a0in\u00a0to log\u00a0out\u00a0of
kubectl: ___ the node before the upgrade | cordon uncordon, drain uncordon, taint untaint
kubectl: ___ the deployment on Friday | scale\u00a0up scale\u00a0down, apply delete, pause resume
kubectl: ___ the service account a role | grant revoke, give deny
kubectl: ___ the label on the namespace | set unset, set clear, add remove
SQL: ___ the temp table at the end of the migration | create drop, create truncate, fill truncate, fill empty
SQL: ___ the transaction in the caller | commit rollback, begin end, begin abort
SQL: ___ select to the reporting user | grant revoke, allow forbid
SQL: ___ the search index before the bulk import | create remove, create drop, build drop, disable enable
filesystem: ___ the volume for backups | mount unmount, mount umount, encrypt decrypt
filesystem: ___ the logs folder on startup | create remove, make delete, fill empty, zip unzip, archive extract
filesystem: ___ write permission on the share | grant revoke, set unset, add remove
filesystem: ___ the symlink to the current release | link unlink, create unlink, make remove
packages: ___ numpy in the lock file | pin unpin, add remove, upgrade downgrade
packages: ___ the broken version | publish yank, publish withdraw, install uninstall, install purge, hold unhold
packages: ___ the virtual environment between runs | reuse recreate, keep rebuild, activate deactivate, reuse reset
jobs: ___ the request when the server answers 503 | retry fail, retry abort, retry drop, accept reject
jobs: ___ the job in the queue | enqueue dequeue, push pop, schedule cancel, schedule unschedule
jobs: ___ the worker processes at the end | fork join, spawn kill, start terminate
jobs: ___ the migration step | do undo, apply undo, redo undo
texts: ___ the list of names | sort shuffle, encode decode, quote unquote, escape unescape, split join
texts: Read the file in ___ order | reverse forward, ascending descending
memory: ___ the buffer after the call | allocate free, fill drain, fill flush, lock release
errors: ___ the exception in the handler | raise swallow, throw catch, log suppress, raise suppress
"""


def undoing() -> list[tuple[str, str]]:
    found = []
    for line in UNDOING.strip().splitlines():
        sentence, verbs = line.split(": ", 1)[1].split(" | ")
        for pair in verbs.split(", "):
            one, other = (
                sentence.replace("___", verb.replace("\u00a0", " ")) for verb in pair.split(" ")
            )
            found.append((one, other))
    return found


@pytest.mark.parametrize(("one", "other"), undoing())
def test_verbs_that_undo_each_other_are_an_objection(one: str, other: str) -> None:
    for pair in ((one, other), (other, one)):
        assert re.match("opposite polarity: |other order: ", objection(*pair) or ""), pair
    inflected = one.replace("the ", "the old ", 1)
    assert objection(inflected, other)
