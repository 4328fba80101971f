-- A checklist that the model maintains while it works, shown above the editor. The list is stored in the
-- session and returns when the session is resumed.

local items = {}

local function show()
  local open = 0
  local lines = {}
  for _, item in ipairs(items) do
    if item.done then
      lines[#lines + 1] = { { text = "✓ ", style = "success" }, { text = item.text, style = "muted" } }
    else
      open = open + 1
      lines[#lines + 1] = { { text = "○ ", style = "accent" }, item.text }
    end
  end
  osier.widget(lines)
  osier.status(#items > 0 and (open .. " to do") or nil)
end

osier.tool {
  name = "checklist",
  description = "Keep a list of what is to do, whole every time. Use it for work of three steps or more.",
  parameters = {
    type = "object",
    properties = {
      items = {
        type = "array",
        items = {
          type = "object",
          properties = { text = { type = "string" }, done = { type = "boolean" } },
          required = { "text", "done" },
        },
      },
    },
    required = { "items" },
  },
  run = function(arguments)
    items = arguments.items
    osier.append_entry("todo", items)
    show()
    local open = 0
    for _, item in ipairs(items) do
      if not item.done then open = open + 1 end
    end
    return open .. " of " .. #items .. " to do"
  end,
}

osier.command {
  name = "checklist",
  argument = "[clear]",
  description = "show the list, or clear it",
  values = { "clear" },
  run = function(argument)
    if argument == "clear" then
      items = {}
      osier.append_entry("todo", items)
    elseif #items == 0 then
      osier.ui.notify("nothing is to do")
    end
    show()
  end,
}

osier.on("session_opened", function()
  local stored = osier.entries("todo")
  items = stored[#stored] or {}
  show()
end)
