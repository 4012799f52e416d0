/** The words of llama.cpp about a request that is at fault, in an answer of 500; runtimes that embed it pass them on. */

/** Pictures and sounds for a model without, or that cannot be read; and what a chat template refuses. */
export const OF_THE_REQUEST = new RegExp(
  [
    String.raw`\bis not supported\b`,
    String.raw`Jinja Exception|raise_exception\(|^\s*-+\s*While executing `,
    '^Failed to (?:parse|load|decode|download) |^Unable to generate parser for this template',
  ].join('|'),
)
