-- Entity group transactions of SIZE inserts, each into one of 1,000 partitions.
-- wrk -s batches.lua URL -- HEAD RUN SIZE TABLE_URL
--   HEAD: a file with the signed head of the request, without Content-Length;
--         its Content-Type names the boundary "batch_bench"

local threads = {}
local head, run, size, part
local count = 0
failed = 0

function setup(thread)
    threads[#threads + 1] = thread
    thread:set("id", #threads)
end

function init(args)
    local file = assert(io.open(args[1], "rb"))
    head = file:read("*a")
    file:close()
    run, size = args[2], tonumber(args[3])
    part = table.concat({
        "--changeset_bench",
        "Content-Type: application/http",
        "Content-Transfer-Encoding: binary",
        "",
        "POST " .. args[4] .. " HTTP/1.1",
        "Accept: application/json;odata=minimalmetadata",
        "Content-Type: application/json",
        "Prefer: return-no-content",
        "",
        '{"PartitionKey":"p%03d","RowKey":"%s-%d-%09d-%03d","Name":"Ada Lovelace",' ..
        '"Email":"ada@example.org","Visits":%d,"Rating":4.5,"Active":true}',
        "",
    }, "\r\n")
end

function request()
    count = count + 1
    local lines = {"--batch_bench\r\n" ..
        "Content-Type: multipart/mixed; boundary=changeset_bench\r\n\r\n"}
    for i = 1, size do
        lines[i + 1] = string.format(part, count % 1000, run, id or 0, count, i, count)
    end
    lines[size + 2] = "--changeset_bench--\r\n--batch_bench--\r\n"
    local body = table.concat(lines)
    return head .. "Content-Length: " .. #body .. "\r\n\r\n" .. body
end

-- A failed transaction is a 202 too; its body tells.
function response(status, headers, body)
    if status ~= 202 or body:find("odata.error", 1, true) then
        failed = failed + 1
    end
end

function done(summary, latency, requests)
    local sum = 0
    for _, thread in ipairs(threads) do
        sum = sum + thread:get("failed")
    end
    io.write("Failed transactions: ", sum, "\n")
end
