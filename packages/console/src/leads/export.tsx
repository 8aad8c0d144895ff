/** The leads of the list, as a file. */
import type { Lead } from '@leadtap/client';
import { CSV_START, toCsvRow } from '@leadtap/contract';
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { formatCount } from '../text.tsx';
import { hasMore } from './history.ts';
import { shownLeads } from './selection.ts';

/** Custom fields have a column each, as in `leadtap leads import`: `customFields.roof`. */
function flatten({ status, customFields, images, ...fields }: Lead): Readonly<Record<string, unknown>> {
  return {
    ...fields,
    'status.label': status.label,
    // As in the export of the command line.
    images: images.map((url) => url.replaceAll('|', '%7C')).join('|'),
    ...Object.fromEntries(
      Object.entries(customFields).map(([name, value]) => [`customFields.${name}`, value]),
    ),
  };
}

function toCsv(leads: readonly Lead[]): string {
  const rows = leads.map(flatten);
  const names = [...new Set(rows.flatMap(Object.keys))];
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  return CSV_START + lines.map(toCsvRow).join('');
}

const FORMATS = {
  csv: { type: 'text/csv', write: toCsv },
  json: { type: 'application/json', write: (leads: readonly Lead[]) => JSON.stringify(leads, null, 2) },
} as const;

export function download(format: keyof typeof FORMATS, leads: readonly Lead[]): void {
  const { type, write } = FORMATS[format];
  const url = URL.createObjectURL(new Blob([write(leads)], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `leads-${new Date().toLocaleDateString('sv')}.${format}`;
  link.click();
  URL.revokeObjectURL(url);
}

export function Export(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button
        type="button"
        disabled={shownLeads.value.length === 0}
        onClick={() => dialog.current?.showModal()}
      >
        Export
      </button>
      <dialog ref={dialog} aria-labelledby="export-title">
        <h2 id="export-title">Export {formatCount(shownLeads.value.length)}</h2>
        <p>
          The file has the leads of the list.
          {hasMore.value && ' Older leads that are not loaded are not in it.'}
        </p>
        <form method="dialog">
          <button type="submit" class="primary" onClick={() => download('csv', shownLeads.peek())}>
            CSV, for spreadsheets
          </button>
          <button type="submit" onClick={() => download('json', shownLeads.peek())}>
            JSON
          </button>
          <button type="submit">Cancel</button>
        </form>
      </dialog>
    </>
  );
}
