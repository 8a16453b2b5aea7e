import { putBack } from "./undo";

/** At the end of the turns, for as long as it can be undone: what was taken back is not gone. */
export function TakenBack({ session }: { session: string }) {
  return (
    <article className="turn" aria-label="Taken back">
      <div className="e">
        <div className="mk" data-marker="taken_back">
          <span>
            <b>Turn taken back.</b> The agent no longer reads it. It stays in History.
          </span>
          <span className="do">
            <button type="button" className="btn sm" onClick={() => void putBack(session)}>
              Put back
            </button>
          </span>
        </div>
      </div>
    </article>
  );
}
