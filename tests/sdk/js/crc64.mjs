// The CRC64 of Azure Storage: the reflected polynomial 0x9A6C9329AC4BC9B5, all ones
// before and after, its eight bytes sent with the lowest first.

const table = Array.from({ length: 256 }, (_, n) => {
  let crc = BigInt(n);
  for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ 0x9A6C9329AC4BC9B5n : crc >> 1n;
  return crc;
});

export function crc64(data) {
  let crc = 0xFFFFFFFFFFFFFFFFn;
  for (const byte of Buffer.from(data))
    crc = table[Number((crc ^ BigInt(byte)) & 0xFFn)] ^ (crc >> 8n);
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(crc ^ 0xFFFFFFFFFFFFFFFFn);
  return bytes;
}
