import { inject } from 'vitest';

/** The address of the server that all tests of the run share. */
export async function sharedServer(name: 'postgres' | 'redis'): Promise<string> {
  const response = await fetch(`${inject('sharedServers')}/${name}`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
