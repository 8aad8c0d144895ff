const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Leaves out the mark with which some programs begin a UTF-8 file, even when it comes a byte at a time. */
export async function* withoutByteOrderMark(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (start === undefined) yield chunk;
    else {
      start = Buffer.concat([start, chunk]);
      if (start.length < MARK.length) continue;
      yield afterMark(start);
      start = undefined;
    }
  }
  if (start !== undefined) yield start;
}

const afterMark = (bytes: Buffer): Buffer =>
  bytes.subarray(0, MARK.length).equals(MARK) ? bytes.subarray(MARK.length) : bytes;
