import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';

/** The texts of the contract are Markdown with code spans only. */
export function Text({ children }: { readonly children: string }): JSX.Element {
  const parts = children.split('`');
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

/** In single quotes, for a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Without HTTPS the clipboard of the browser is not available, but a selection can still be copied. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    field.setAttribute('readonly', '');
    field.className = 'vh';
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    return isCopied;
  }
}

const SHOWN_MS = 2000;

interface CopyButtonProps {
  readonly text: () => string;
  readonly children: ComponentChildren;
}

/** Says beside itself whether it has copied. */
export function CopyButton({ text, children }: CopyButtonProps): JSX.Element {
  const result = useSignal('');
  const onClick = async () => {
    result.value = (await copy(text())) ? 'copied' : 'not copied: select the text and copy it';
    setTimeout(() => {
      result.value = '';
    }, SHOWN_MS);
  };
  return (
    <span class="copy">
      <button type="button" onClick={onClick}>
        {children}
      </button>
      <span role="status">{result}</span>
    </span>
  );
}
