import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { download, isDownload } from './files.ts';

const MARKED = /(`[^`]+`|\*[^*]+\*)/;

/** A sentence with `` `code` `` and `*labels*`. The name of a file that the page offers downloads it. */
export function RichText({ children }: { readonly children: string }): JSX.Element {
  const parts = children.split(MARKED);
  return (
    <>
      {parts.map((part, index) => {
        if (index % 2 === 0) return part;
        const text = part.slice(1, -1);
        if (part.startsWith('*')) return <b key={index}>{text}</b>;
        return isDownload(text) ? <Download key={index} name={text} /> : <code key={index}>{text}</code>;
      })}
    </>
  );
}

function Download({ name }: { readonly name: string }): JSX.Element {
  const error = useSignal('');
  const onClick = () => {
    error.value = '';
    download(name).catch(() => {
      error.value = ' (not downloaded: the service cannot be reached)';
    });
  };
  return (
    <>
      <button
        type="button"
        class="download"
        onClick={onClick}
        title={name.endsWith('.tgz') ? 'Download' : 'Download, with the address of this service'}
      >
        <span aria-hidden="true">↓ </span>
        {name}
      </button>
      <span role="status">{error}</span>
    </>
  );
}
