-- Sends the paths of a file in turn, and prints what came of them as one line of JSON.

local requests, position = {}, 0

function init(args)
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", path)
  end
end

function request()
  position = position % #requests + 1
  return requests[position]
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "seconds": %f, "failed": %d}\n',
    summary.requests,
    summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
