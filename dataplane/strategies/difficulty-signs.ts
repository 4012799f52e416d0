/** The words and patterns that show a prompt's difficulty; every pattern takes linear time. */

export interface Signs {
  /** Lower case; each counts once. */
  readonly words: ReadonlySet<string>
  readonly patterns: readonly {
    readonly pattern: RegExp
    /** The weight of one match, in words. */
    readonly worth: number
    /** Matches beyond these do not count. */
    readonly most: number
  }[]
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/))
}

export const CODE: Signs = {
  words: wordSet(`
    algorithm api async await bash bug class code coding compile compiler concurrency const css
    database deadlock debug def dockerfile exception func function git golang html implement import
    java javascript kotlin kubernetes lambda linux mutex npm nullptr php program programming python
    query react recursion refactor regex repository return ruby rust script segfault select sql
    stacktrace struct swift thread traceback typescript unittest var void
  `),
  patterns: [
    { pattern: /\x60{3}/g, worth: 3, most: 1 },
    { pattern: /[;{}]$/gm, worth: 1, most: 3 },
    { pattern: /=>|[!=]==?|&&|\|\||\(\)|::|<\//g, worth: 0.5, most: 4 },
  ],
}

export const MATHEMATICS: Signs = {
  words: wordSet(`
    algebra asymptotic bayes calculate calculus combinatorics compute converge convergence converges
    cosine covariance derivative determinant differential divisible eigenvalue eigenvector equation
    exponential factorial fourier geometry gradient induction inequality integer integers integral
    irrational lemma limit linear logarithm matrix modulo orthogonal permutation polynomial prime
    probability proof prove quadratic rational regression sine solve sum tangent theorem topology
    triangle variance vector
  `),
  patterns: [
    {
      pattern: /\\(?:frac|sum|int|sqrt|begin|lim|prod|alpha|beta|theta)|\$\$|\\[[(]/g,
      worth: 1,
      most: 3,
    },
    { pattern: /[∑∏∫√≤≥≠≈∞∂∇∈∀∃π±×÷²³]/g, worth: 1, most: 3 },
    { pattern: /[\dxyn)] ?[-+*/^=] ?[\dxyn(]/g, worth: 0.5, most: 4 },
  ],
}

export const REASONING: Signs = {
  words: wordSet(`
    analyse analysis analyze architect architecture argue assess assumptions compare contrast
    critique debug deduce derive design diagnose disprove evaluate fallacies fallacy flaw hypotheses
    hypothesis implications infer interpret investigate justify optimise optimize plan premises
    prioritise prioritize prove rationale reason reasoning refactor refute strategy synthesise
    synthesize tradeoff tradeoffs troubleshoot verify
  `),
  patterns: [
    {
      pattern:
        /step[ -]by[ -]step|trade-offs?|pros and cons|root cause|think (?:carefully|hard)|in depth/gi,
      worth: 1,
      most: 2,
    },
    { pattern: /\b(?:work out|show that|point out|at (?:each|every) step)\b/gi, worth: 1, most: 2 },
    // Most questions with this beginning need one sentence.
    { pattern: /\bwhy\b/gi, worth: 0.5, most: 1 },
  ],
}

export const STRUCTURE: Signs = {
  words: wordSet('columns csv json outline schema sections spreadsheet table toml xml yaml'),
  patterns: [
    // Three bullets are a list of demands; one is only a dash.
    { pattern: /^[ \t]{0,8}(?:[-*•]|\d{1,3}[.)])[ \t]/gm, worth: 0.5, most: 4 },
  ],
}
