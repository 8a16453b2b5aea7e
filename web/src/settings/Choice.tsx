import { useId } from "react";

interface ChoiceProps<T extends string> {
  title: string;
  name: string;
  value: T;
  options: readonly (readonly [value: T, label: string, told?: string])[];
  disabled?: boolean;
  choose: (value: T) => void;
}

/** A group of radio buttons. */
export function Choice<T extends string>({ title, name, value, options, disabled, choose }: ChoiceProps<T>) {
  return (
    <fieldset className="choices" disabled={disabled}>
      <legend>{title}</legend>
      {options.map(([option, label, told]) => (
        <label key={option}>
          <input
            type="radio"
            name={name}
            value={option}
            checked={option === value}
            onChange={() => choose(option)}
          />
          <span>
            <b>{label}</b>
            {told !== undefined && <span className="dim">{told}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface SwitchProps {
  label: string;
  told?: string;
  on: boolean;
  choose: (on: boolean) => void;
}

/** An on/off switch. */
export function Switch({ label, told, on, choose }: SwitchProps) {
  const id = useId();
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        checked={on}
        aria-describedby={told === undefined ? undefined : id}
        onChange={(event) => choose(event.target.checked)}
      />
      <span>
        <b>{label}</b>
        {told !== undefined && (
          <span className="dim" id={id}>
            {told}
          </span>
        )}
      </span>
    </label>
  );
}
