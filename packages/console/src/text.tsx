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

/** Says whether it has copied. */
export function CopyButton({ text, children }: CopyButtonProps): JSX.Element {
  const result = useSignal('');
  const onClick = async () => {
    result.value = (await copy(text())) ? 'copied' : 'not copied: select the text and copy it';
    setTimeout(() => {
      result.value = '';
    }, SHOWN_MS);
  };
  return (
    <span class={`copy ${result.value === '' ? '' : 'done'}`}>
      <button type="button" onClick={onClick} title={result.value === '' ? undefined : result.value}>
        <span>{children}</span>
        {/* In the place of the label, so that nothing beside it moves. */}
        <span aria-hidden="true">{result.value.startsWith('not') ? 'not copied' : '✓ copied'}</span>
      </button>
      <span class="vh" role="status">
        {result}
      </span>
    </span>
  );
}

const MAX_SHOWN = 1000;

/** Cuts what would fill several screens. The direction of its letters does not affect its neighbours. */
export function LongText({ children }: { readonly children: string }): JSX.Element {
  const isWhole = useSignal(false);
  if (children.length <= MAX_SHOWN || isWhole.value) return <bdi>{children}</bdi>;
  const show = () => {
    isWhole.value = true;
  };
  return (
    <>
      <bdi>{children.slice(0, MAX_SHOWN)}</bdi>…{' '}
      <button type="button" onClick={show}>
        Show all {children.length.toLocaleString('en')} characters
      </button>
    </>
  );
}
