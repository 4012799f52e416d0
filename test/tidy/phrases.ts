/** Phrases that make a reader stop, each with plain words to put in its place. */

const PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  // It is also a value that programs read, of `burst_is`.
  [/(?<!burst_is +)\btold\b(?!['`])/i, 'say reports, notifies, learns or knows'],
  [/\bso many\b/i, 'say this many, or the number'],
  [/\bis none\b/i, 'say there is no ..., or it has no ...'],
  [
    /\bof (its|their|our|your|his|her|one's) own\b/i,
    'say its own ..., a separate ..., or leave it out',
  ],
  [/\bnobody\b/i, 'name the client, process or person: no client, no other process'],
  [/\bsomebody\b/i, 'name it: a client, another process, a person'],
  [/\b(whoever|whomever|whom)\b/i, 'name it: the client that, anyone who, the process that'],
  [/\bwhatever\b/i, 'say any, every, or regardless of'],
  [/\bis of no use\b/i, 'say it cannot be used'],
  [/\bby and by\b/i, 'say gradually, or in steps'],
]

/** The start of a sentence: of a line, a comment, a text, a table cell, or behind the sentence before. */
const OPENER =
  /(?:^\s*|[.!?:] |\/\*\* ?|^\s*\* |\/\/ |['"`|] ?|^\s*(?:-|\d+\.) )(?:\*\*)?(Who|Of|What|Whose) [a-z][^?]*$/

/** The phrase of a line that has plainer words; undefined where the line is plain. */
export function clumsyPhrase(line: string): string | undefined {
  const opener = OPENER.exec(line)?.[1]
  if (opener !== undefined) return `"${opener} ..." opens a sentence: begin with its subject`
  const found = PHRASES.find(([phrase]) => phrase.test(line))
  return found && `${found[0].exec(line)?.[0]}: ${found[1]}`
}
