-- Asks before a command that is hard to undo. All other commands run.

local risky = {
  { pattern = "rm%s+%-%a*[rf]", why = "removes files" },
  { pattern = "git%s+push.*%-%-force", why = "overwrites a remote branch" },
  { pattern = "git%s+reset%s+%-%-hard", why = "throws changes away" },
  { pattern = "sudo%s", why = "runs as root" },
}

osier.on("tool_call", function(call)
  if call.name ~= "bash" then return end
  local command = call.arguments.command or ""
  for _, rule in ipairs(risky) do
    if command:find(rule.pattern) then
      if osier.ui.confirm("Run a command that " .. rule.why .. "?", command) then return end
      return { block = "The user did not allow it: it " .. rule.why .. ". Find another way, or ask." }
    end
  end
end)
