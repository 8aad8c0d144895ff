/**
 * Loaded into an instance: the longest slice of processor time between two turns of its event loop. A timer fires once in each turn, a
 * millisecond after the last time at the earliest, so a slice is at most that much shorter than measured. SIGUSR2 writes it to the file
 * of the environment variable SLICES_FILE, in milliseconds, and begins again.
 */
import { renameSync, writeFileSync } from 'node:fs';

const file = process.env['SLICES_FILE'] ?? '';
let last = process.cpuUsage();
let longestMicros = 0;

setInterval(() => {
  const now = process.cpuUsage();
  longestMicros = Math.max(longestMicros, now.user - last.user + now.system - last.system);
  last = now;
}, 1).unref();

process.on('SIGUSR2', () => {
  writeFileSync(`${file}.new`, String(longestMicros / 1000));
  renameSync(`${file}.new`, file);
  last = process.cpuUsage();
  longestMicros = 0;
});
