/** llama.cpp's messages about a faulty request in an answer of 500; runtimes that embed it send them too. */

/** Pictures and sounds for a model without that input, unreadable ones, and refusals of a chat template. */
export const OF_THE_REQUEST = new RegExp(
  [
    String.raw`\bis not supported\b`,
    String.raw`Jinja Exception|raise_exception\(|^\s*-+\s*While executing `,
    '^Failed to (?:parse|load|decode|download) |^Unable to generate parser for this template',
  ].join('|'),
)
