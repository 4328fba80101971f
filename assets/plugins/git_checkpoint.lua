-- After every run that changed tracked files, stores their state as a commit outside of all branches and
-- reports it in the conversation. `git stash apply COMMIT` restores that state.

local last_tree

osier.renderer("git_checkpoint", function(note)
  return {
    {
      { text = "✓ checkpoint ", style = "success" },
      { text = note.commit:sub(1, 10), style = "accent" },
      { text = "  " .. note.summary, style = "muted" },
    },
  }
end)

osier.on("settled", function()
  local made = osier.exec("git", { "stash", "create", "osier checkpoint" })
  local commit = made.stdout:match("^%x+")
  if made.code ~= 0 or not commit then return end
  -- Commits of the same files have the same tree, whatever their date.
  local tree = osier.exec("git", { "rev-parse", commit .. "^{tree}" }).stdout
  if tree == last_tree then return end
  last_tree = tree
  -- Without a reference git would delete the commit some day.
  osier.exec("git", { "update-ref", "refs/osier/checkpoints/" .. commit, commit })
  local changed = osier.exec("git", { "diff", "--shortstat", "HEAD" })
  osier.append_entry("git_checkpoint", {
    commit = commit,
    summary = changed.stdout:gsub("^%s+", ""):gsub("%s+$", ""),
  })
end)
