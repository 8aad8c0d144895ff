-- wrk -s wrk.lua URL -- FILE FROM: sends the requests of FILE (separated by NUL) in turn, the first is number FROM.
-- The last line of the output is JSON.
local requests, count, position = {}, 0, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for text in file:read("*a"):gmatch("[^%z]+") do
    count = count + 1
    requests[count] = text
  end
  file:close()
  position = tonumber(args[2]) % count
end

function request()
  position = position % count + 1
  return requests[position]
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('{"responses":%d,"seconds":%f,"rejected":%d,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, errors.status, failed))
end
