#!/usr/bin/env node
/**
 * Starts Firefox for Playwright, which sends a command of WebDriver BiDi to each context that Debian's Firefox does not know. The proxy
 * answers it; all else passes. `FIREFOX` is the path of the program.
 */
import { spawn } from 'node:child_process';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { WebSocket, WebSocketServer } from 'ws';

const UNKNOWN_COMMAND = 'emulation.setMediaFeaturesOverride';

const firefox = spawn(process.env.FIREFOX, process.argv.slice(2), { stdio: ['ignore', 'ignore', 'pipe'] });
firefox.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
firefox.on('exit', (code) => process.exit(code ?? 1));

createInterface({ input: firefox.stderr }).on('line', (line) => {
  const [, address] = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(line) ?? [];
  if (address === undefined) process.stderr.write(`${line}\n`);
  else listen(address);
});

function listen(address) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('listening', () =>
    process.stderr.write(`WebDriver BiDi listening on ws://127.0.0.1:${server.address().port}\n`),
  );
  server.on('connection', (playwright, { url }) => {
    const browser = new WebSocket(`${address}${url}`);
    const opened = new Promise((resolve) => browser.once('open', resolve));
    playwright.on('message', async (data) => {
      const { id, method } = JSON.parse(data);
      if (method === UNKNOWN_COMMAND) playwright.send(JSON.stringify({ type: 'success', id, result: {} }));
      else {
        await opened;
        browser.send(String(data));
      }
    });
    browser.on('message', (data) => playwright.send(String(data)));
    browser.on('error', () => playwright.close());
    browser.on('close', () => playwright.close());
    playwright.on('close', () => browser.close());
  });
}
