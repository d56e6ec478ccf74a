"""The toolset `core`, which every agent needs: boot, recall, store, reinforce, judge."""
