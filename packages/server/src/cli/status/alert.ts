import type { Command } from 'commander';
import { createDelivery } from '../../hooks/deliver.ts';
import { VERSION } from '../../lib/version.ts';
import { sendAlert } from '../../status/alerts.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, loadConfig } from '../context.ts';
import { Failure } from '../exit.ts';
import { writeLine } from '../output.ts';

export function registerAlert(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'alert',
    description: 'send a test message to LEADTAP_ALERT_URL',
    options: { '--test': { text: 'send the message', isRequired: true } },
    help: `
The service sends a message to LEADTAP_ALERT_URL when something on the status page gets red or amber, and when that
ends. This sends one for a test, and prints what the receiver answered. It has 10 seconds; redirects are not followed.`,
    examples: ['leadtap alert --test'],
    run: sendTest,
  });
}

async function sendTest({ signal, stderr, ...context }: CommandContext): Promise<void> {
  const { alertUrl, publicUrl } = await loadConfig({ signal, stderr, ...context });
  const fix = 'Set it to the address that the receiver shows, such as https://ntfy.sh/my-secret-topic.';
  if (alertUrl === undefined) throw new Failure('configuration', 'LEADTAP_ALERT_URL is not set', fix);
  const delivery = createDelivery();
  signal.addEventListener('abort', () => delivery.close());
  const target = { alertUrl, publicUrl, delivery, version: VERSION };
  const outcome = await sendAlert(target, 'this is a test. Messages about problems arrive here.');
  delivery.close();
  signal.throwIfAborted();
  if (outcome === 'aborted') return;
  const { kind, status } = outcome;
  const { host } = new URL(alertUrl);
  if (kind === 'accepted') return writeLine(stderr, `${host} accepted the message with status ${status}.`);
  if (status !== undefined)
    throw new Failure('bad-input', `${host} refused the message with status ${status}`, fix);
  throw new Failure(
    'unavailable',
    `${host} ${kind === 'timeout' ? 'did not answer within 10 seconds' : 'cannot be reached'}`,
    'Check the address, and that this machine may connect to it: DNS, firewall, certificate.',
  );
}
