/** The operator's page: the state of the service, from `status.json`. It loads nothing else. */
import type { StatusJson } from '@leadtap/contract';
import { signal } from '@preact/signals';
import { render } from 'preact';
import { StatusPage } from './status-page.tsx';

const REFRESH_MS = 5000;

const report = signal<StatusJson | undefined>(undefined);
const isAnswering = signal(true);
let isLoading = false;

async function refresh(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  try {
    const response = await fetch('status.json', { cache: 'no-store' });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const read: StatusJson = await response.json();
    report.value = read;
    isAnswering.value = true;
  } catch {
    isAnswering.value = false;
  }
  isLoading = false;
}

const root = document.getElementById('app');
if (root) render(<StatusPage {...{ report, isAnswering }} />, root);
void refresh();
// Also in a tab in the background, whose title has the number of problems. Browsers then run timers once a minute.
setInterval(refresh, REFRESH_MS);
document.addEventListener('visibilitychange', refresh);
