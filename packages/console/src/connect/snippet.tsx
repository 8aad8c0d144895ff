import type { JSX } from 'preact';
import { CopyButton } from '../text.tsx';

interface SnippetProps {
  readonly code: string;
  /** Of the button. */
  readonly children?: string;
}

/** A command or program, with a button that copies it. */
export const Snippet = ({ code, children = 'Copy' }: SnippetProps): JSX.Element => (
  <div class="snippet">
    <pre>
      <code>{code}</code>
    </pre>
    <CopyButton text={() => code}>{children}</CopyButton>
  </div>
);
