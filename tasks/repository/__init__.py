"""Git: refs, trees and states, worktrees and clean checkouts, their set-up, the remote."""
