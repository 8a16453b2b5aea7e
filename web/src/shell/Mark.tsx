/** The journal rule, making one turn and going on. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor">
      <path d="M8 2v9a5 5 0 0 0 10 0 5 5 0 0 0-10 0v11" strokeWidth="2.5" strokeLinecap="round" />
    </svg>
  );
}
