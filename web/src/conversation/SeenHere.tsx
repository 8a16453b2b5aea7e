import { replica } from "../live/store";
import { proseOf, wordsIn } from "../log/prose";
import type { TurnView } from "../log/types";
import { useKnown } from "../shell/use";
import { exactClock } from "../shell/words";

function transcript(turns: readonly TurnView[]): string {
  return turns.map((turn) => `You:\n${turn.message.text}\n\nAgent:\n${proseOf(turn)}\n`).join("\n");
}

/** What the server came back without. It stays on this device until the person lets it go. */
export function SeenHere({ session, turns }: { session: string; turns: readonly TurnView[] }) {
  const lost = useKnown(({ lost }) => lost[session]);
  if (lost === undefined) return null;
  const text = transcript(lost.turns);
  const missing = Math.max(1, wordsIn(text) - wordsIn(transcript(turns.slice(-lost.turns.length))));
  const save = () => {
    const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `seen-on-this-device-${session}.txt`;
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <article className="turn" aria-label="Seen on this device">
      <div className="e">
        <div className="mk" data-marker="seen">
          <span>
            <b>Seen on this device.</b> The server came back without the last{" "}
            {missing === 1 ? "word" : `${missing} words`} shown here until {exactClock(lost.at)}. They are
            kept on this device.
          </span>
          <span className="do">
            <button type="button" className="btn sm" onClick={save}>
              Save as a file
            </button>
            <button type="button" className="btn sm ghost" onClick={() => replica.discard(session)}>
              Let it go
            </button>
          </span>
        </div>
      </div>
    </article>
  );
}
