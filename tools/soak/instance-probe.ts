/** Loaded into each service with `--import`: measures its resources when it is asked to. */
import { readdirSync } from 'node:fs';
import process from 'node:process';
import { getHeapCodeStatistics } from 'node:v8';
import { collectGarbage } from '../../packages/testing/harness/collect-garbage.ts';

export interface Resources {
  /** Of the process, as the operating system counts it. */
  readonly rssBytes: number;
  /** JavaScript objects, and the buffers outside of the heap that belong to them. Without compiled code, which grows for long. */
  readonly heapBytes: number;
  /** Open files and sockets; where the operating system does not list them, what keeps Node's event loop running. */
  readonly handles: number;
}

function readResources(): Resources {
  collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const handles =
    process.platform === 'linux'
      ? readdirSync('/proc/self/fd').length
      : process.getActiveResourcesInfo().length;
  const { code_and_metadata_size: code, bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
  return { rssBytes: rss, heapBytes: heapUsed + external - code - bytecode, handles };
}

process.on('message', () => process.send?.(readResources()));
process.channel?.unref();
