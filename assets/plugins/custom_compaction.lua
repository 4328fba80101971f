-- Compacts without asking a model: keeps every prompt word for word, the commands that ran, the files
-- that changed, and the last answer. Costs nothing and is the same every time.

local LONGEST = 2000 -- bytes of one prompt or answer

local function short(text)
  if #text <= LONGEST then return text end
  local stop = LONGEST + 1
  -- The cut must not be in the middle of a character.
  while stop > 1 and (text:byte(stop) & 0xC0) == 0x80 do stop = stop - 1 end
  return text:sub(1, stop - 1) .. " …"
end

local function text_of(message)
  if type(message.text) == "string" then return message.text end
  local parts = {}
  for _, block in ipairs(message.content or {}) do
    if block.type == "text" then parts[#parts + 1] = block.text end
  end
  return table.concat(parts, "\n")
end

local function section(lines, title, items)
  if #items == 0 then return end
  lines[#lines + 1] = "## " .. title
  for _, item in ipairs(items) do lines[#lines + 1] = "- " .. item end
end

osier.on("before_compact", function(plan)
  local earlier, prompts, commands, files, seen, answer = nil, {}, {}, {}, {}, nil
  for _, message in ipairs(plan.messages) do
    if message.role == "user" then
      prompts[#prompts + 1] = short(text_of(message))
    elseif message.role == "compactionSummary" then
      earlier = message.summary
    elseif message.role == "assistant" then
      local text = text_of(message)
      if text ~= "" then answer = short(text) end
      for _, block in ipairs(message.content or {}) do
        local arguments = block.arguments or {}
        if block.name == "bash" and arguments.command then
          commands[#commands + 1] = "`" .. short(arguments.command) .. "`"
        elseif (block.name == "edit" or block.name == "write") and arguments.file_path and not seen[arguments.file_path] then
          seen[arguments.file_path] = true
          files[#files + 1] = arguments.file_path
        end
      end
    end
  end
  local lines = {}
  if earlier then lines[#lines + 1] = earlier end
  section(lines, "Prompts", prompts)
  section(lines, "Commands", commands)
  section(lines, "Changed files", files)
  section(lines, "Last answer", { answer })
  return { summary = table.concat(lines, "\n") }
end)
