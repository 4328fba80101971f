-- After every run that changed tracked files: keeps their state as a commit that no branch knows, and
-- notes it in the conversation. `git stash apply COMMIT` brings it back.

local last

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
  if made.code ~= 0 or not commit or commit == last then return end
  last = commit
  -- A reference keeps it from being collected.
  osier.exec("git", { "update-ref", "refs/osier/checkpoint", commit })
  local changed = osier.exec("git", { "diff", "--shortstat", "HEAD" })
  osier.append_entry("git_checkpoint", {
    commit = commit,
    summary = changed.stdout:gsub("^%s+", ""):gsub("%s+$", ""),
  })
end)
