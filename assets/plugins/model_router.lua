-- Chooses the model by the prompt. `/route PATTERN MODEL` adds a rule to the session: a prompt that contains
-- the Lua pattern goes to that model. The first rule that matches applies.

local rules = {}

local function restore()
  rules = {}
  -- A rule that is added while the stored rules are read comes after them.
  for at, rule in ipairs(osier.entries("route")) do table.insert(rules, at, rule) end
end

osier.command {
  name = "route",
  argument = "PATTERN MODEL",
  description = "send prompts with this pattern to a model; without arguments, list the rules",
  run = function(argument)
    local pattern, model = argument:match("^(%S+)%s+(%S+)$")
    if not pattern then
      for _, rule in ipairs(rules) do
        osier.ui.notify(rule.pattern .. " goes to " .. rule.model)
      end
      return
    end
    local rule = { pattern = pattern, model = model }
    rules[#rules + 1] = rule
    osier.append_entry("route", rule)
    osier.ui.notify(pattern .. " goes to " .. model)
  end,
}

osier.on("session_opened", restore)

osier.on("input", function(message)
  for _, rule in ipairs(rules) do
    if message.text:find(rule.pattern) then
      osier.model.set(rule.model)
      osier.status("routed to " .. osier.model.get())
      return
    end
  end
end)
