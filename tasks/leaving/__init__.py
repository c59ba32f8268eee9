"""What a loop leaves behind: lessons, a handoff, pages of the wiki, a proposal for AGENTS.md."""
