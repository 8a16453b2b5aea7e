/** What is said where nothing is written yet. */
export function Hello({ level: Level }: { level: "h1" | "h2" }) {
  return (
    <>
      <Level>Nothing written here gets lost.</Level>
      <p>
        Close the tab, lose the Wi-Fi, restart the server. The conversation is on disk before you see it, and
        it comes back to the exact word.
      </p>
    </>
  );
}
