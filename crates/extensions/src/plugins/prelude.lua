-- Replaces functions that could run without end, or outside of the instruction count, which covers only Lua code.
local charge, search_, find_plain, has_length = ...
local setmetatable_ = setmetatable
local rep_, concat_, sort_, unpack_, pack_ = string.rep, table.concat, table.sort, table.unpack, table.pack
local error, type, rawget, tostring, tonumber, select = error, type, rawget, tostring, tonumber, select
local sub, tointeger = string.sub, math.tointeger

-- Finalizers run without the count, whenever memory is collected.
function setmetatable(value, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then error("`__gc` is not available", 2) end
  return setmetatable_(value, meta)
end

-- The bounds as numbers: texts would be compared as texts.
local function bounds(list, first, last)
  first, last = tointeger(tonumber(first or 1)), tointeger(tonumber(last or #list))
  if not first or not last then error("number has no integer representation", 3) end
  if last >= first then charge(last + 0.0 - first) end
  return first, last
end

function string.rep(text, count, separator)
  if text == "" and (separator == nil or separator == "") then return "" end
  return rep_(text, count, separator)
end

function table.concat(list, separator, first, last)
  first, last = bounds(list, first, last)
  return concat_(list, separator, first, last)
end

function table.unpack(list, first, last)
  first, last = bounds(list, first, last)
  return unpack_(list, first, last)
end

-- Without `order`, the comparisons are not in Lua code. Numbers and short strings need no count.
local function less(one, other) return one < other end
local function is_fast(list)
  for at = 1, #list do
    local value = rawget(list, at)
    local kind = type(value)
    if kind ~= "number" and (kind ~= "string" or #value > 1000) then return false end
  end
  return true
end

function table.sort(list, order)
  if has_length(list) then error("`table.sort` needs a table without `__len`", 2) end
  charge(#list * 8)
  if order == nil and not is_fast(list) then order = less end
  return sort_(list, order)
end

function table.move(from, first, last, to, target)
  target = target or from
  if last >= first then
    if to > last or to <= first or target ~= from then
      for offset = 0, last - first do target[to + offset] = from[first + offset] end
    else
      for offset = last - first, 0, -1 do target[to + offset] = from[first + offset] end
    end
  end
  return target
end

function table.insert(list, ...)
  local size = #list
  local count = select("#", ...)
  if count == 1 then
    list[size + 1] = (...)
    return
  end
  local place, value = ...
  if count ~= 2 then error("wrong number of arguments to 'insert'", 2) end
  if not tointeger(place) or place < 1 or place > size + 1 then
    error("bad argument #2 to 'insert' (position out of bounds)", 2)
  end
  for at = size, place, -1 do list[at + 1] = list[at] end
  list[place] = value
end

function table.remove(list, place)
  local size = #list
  place = place or size
  if place ~= size and not (tointeger(place) and place >= 1 and place <= size + 1) then
    error("bad argument #2 to 'remove' (position out of bounds)", 2)
  end
  local value = list[place]
  while place < size do
    list[place] = list[place + 1]
    place = place + 1
  end
  list[place] = nil
  return value
end

-- The first match from `init` on: its ends and its captures. A malformed pattern is `false` and the reason.
local function found_or_fail(first, ...)
  if first == false then error((...), 2) end
  return first, ...
end
local function search(text, pattern, init) return found_or_fail(search_(text, pattern, init)) end

local function texts(name, text, pattern)
  local kind = type(text)
  if kind == "number" then text = tostring(text) elseif kind ~= "string" then
    error("bad argument #1 to '" .. name .. "' (string expected, got " .. kind .. ")", 3)
  end
  kind = type(pattern)
  if kind == "number" then pattern = tostring(pattern) elseif kind ~= "string" then
    error("bad argument #2 to '" .. name .. "' (string expected, got " .. kind .. ")", 3)
  end
  return text, pattern
end

local function from(text, init)
  init = init or 1
  if init < 0 then init = #text + init + 1 end
  return init < 1 and 1 or init
end

local function whole(text, first, last, ...)
  if select("#", ...) == 0 then return sub(text, first, last) end
  return ...
end

function string.find(text, pattern, init, plain)
  text, pattern = texts("find", text, pattern)
  init = from(text, init)
  if init > #text + 1 then return nil end
  if plain then return find_plain(text, pattern, init) end
  return search(text, pattern, init)
end

local function matched(text, first, ...)
  if first == nil then return nil end
  return whole(text, first, ...)
end

function string.match(text, pattern, init)
  text, pattern = texts("match", text, pattern)
  init = from(text, init)
  if init > #text + 1 then return nil end
  return matched(text, search(text, pattern, init))
end

function string.gmatch(text, pattern, init)
  text, pattern = texts("gmatch", text, pattern)
  -- A `^` is no anchor here.
  if sub(pattern, 1, 1) == "^" then pattern = "%" .. pattern end
  local at, last_end = from(text, init), nil
  return function()
    while at <= #text + 1 do
      local found = pack_(search(text, pattern, at))
      if not found[1] then at = #text + 2 return nil end
      local behind = found[2] + 1
      if behind ~= last_end then
        at, last_end = behind, behind
        return whole(text, found[1], found[2], unpack_(found, 3, found.n))
      end
      -- An empty match where the last one ended.
      at = at + 1
    end
    return nil
  end
end

local function replacement(by, pattern_text, captures)
  local kind = type(by)
  local value
  if kind == "function" then
    value = by(unpack_(captures, 1, captures.n))
  elseif kind == "table" then
    value = by[captures[1]]
  else
    local parts, at = {}, 1
    while true do
      local place = find_plain(by, "%", at)
      if not place then break end
      parts[#parts + 1] = sub(by, at, place - 1)
      local sign = sub(by, place + 1, place + 1)
      if sign == "%" then
        parts[#parts + 1] = "%"
      elseif sign == "0" then
        parts[#parts + 1] = pattern_text
      elseif tointeger(tonumber(sign)) then
        local capture = captures[tonumber(sign)]
        if capture == nil then error("invalid capture index %" .. sign .. " in replacement string", 4) end
        parts[#parts + 1] = tostring(capture)
      else
        error("invalid use of '%' in replacement string", 4)
      end
      at = place + 2
    end
    parts[#parts + 1] = sub(by, at)
    return concat_(parts)
  end
  if not value then return pattern_text end
  kind = type(value)
  if kind ~= "string" and kind ~= "number" then error("invalid replacement value (a " .. kind .. ")", 4) end
  return tostring(value)
end

function string.gsub(text, pattern, by, most)
  text, pattern = texts("gsub", text, pattern)
  local kind = type(by)
  if kind == "number" then by = tostring(by) elseif kind ~= "string" and kind ~= "table" and kind ~= "function" then
    error("bad argument #3 to 'gsub' (string/function/table expected, got " .. kind .. ")", 2)
  end
  local parts, at, copied, last_end, count = {}, 1, 1, nil, 0
  while at <= #text + 1 and (not most or count < most) do
    local found = pack_(search(text, pattern, at))
    local first, last = found[1], found[2]
    if not first then break end
    if last + 1 == last_end then
      at = at + 1
    else
      count = count + 1
      parts[#parts + 1] = sub(text, copied, first - 1)
      local captures = pack_(whole(text, first, last, unpack_(found, 3, found.n)))
      parts[#parts + 1] = replacement(by, sub(text, first, last), captures)
      at, copied, last_end = last + 1, last + 1, last + 1
    end
    if sub(pattern, 1, 1) == "^" then break end
  end
  parts[#parts + 1] = sub(text, copied)
  return concat_(parts), count
end
