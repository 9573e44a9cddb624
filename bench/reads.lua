-- Point reads: replay whole requests, signed beforehand.
-- wrk -s reads.lua URL -- FILE      FILE: requests, separated by a NUL byte

local requests, count = {}, 0

function init(args)
    local file = assert(io.open(args[1], "rb"))
    for request in file:read("*a"):gmatch("[^%z]+") do
        requests[#requests + 1] = request
    end
    file:close()
    math.randomseed(os.time())
    count = math.random(#requests)
end

function request()
    count = count % #requests + 1
    return requests[count]
end
