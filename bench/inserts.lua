-- Inserts of new entities over 1,000 partitions.
-- wrk -s inserts.lua URL -- HEAD RUN
--   HEAD: a file with the signed head of the request, without Content-Length
--   RUN:  a word that no earlier run on this table used

local threads = 0
local head, run
local count = 0

function setup(thread)
    threads = threads + 1
    thread:set("id", threads)
end

function init(args)
    local file = assert(io.open(args[1], "rb"))
    head = file:read("*a")
    file:close()
    run = args[2]
end

function request()
    count = count + 1
    local body = string.format(
        '{"PartitionKey":"p%03d","RowKey":"%s-%d-%09d","Name":"Ada Lovelace",' ..
        '"Email":"ada@example.org","Visits":%d,"Rating":4.5,"Active":true,' ..
        '"Note":"The analytical engine weaves algebraic patterns."}',
        count % 1000, run, id or 0, count, count)
    return head .. "Content-Length: " .. #body .. "\r\n\r\n" .. body
end
