import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

interface OptionProps {
  readonly title: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  /** What it does, and what it costs. */
  readonly children: ComponentChildren;
}

/** A choice that is on or off, with its explanation. */
export function Option({ title, isOn, onChange, children }: OptionProps): JSX.Element {
  const id = useId();
  return (
    <div class="option">
      <input
        id={id}
        type="checkbox"
        checked={isOn}
        aria-describedby={`${id}-about`}
        onChange={({ currentTarget }) => {
          onChange(currentTarget.checked);
          // The choice may be refused.
          currentTarget.checked = isOn;
        }}
      />
      <label for={id}>{title}</label>
      <div id={`${id}-about`} class="faint">
        {children}
      </div>
    </div>
  );
}
