// Replaces mermaid's ELK layout engine, which has 1.5 MB and a license we don't accept. The frame uses another layout, so this
// code never runs.

export default class {
  constructor() {
    throw new Error("The ELK layout is not included.");
  }
}
