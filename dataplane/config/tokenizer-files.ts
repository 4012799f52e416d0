/** The tokenizer.json files that upstreams name: whether they can be used. */

import type { Section } from '../schema/index.ts'
import { type Finding, refuse } from './judgement/problems.ts'
import { codeOf, type ReadText } from './tls-files.ts'

/** Checks only the size and format: the counting thread reads the tokens, of which a file may have hundreds of thousands. */
export function readTokenizerFiles(section: Section, readText: ReadText): Finding[] {
  return section.upstreams.flatMap(({ tokenizer }, index) => {
    const file = tokenizer?.file
    if (file === undefined) return []
    const path = ['gw', 'upstreams', index, 'tokenizer', 'file']
    try {
      const text = readText(file)
      if (text.trimStart().startsWith('{') && text.includes('"model"')) return []
    } catch (error) {
      const fix = 'Correct the path, or let the gateway read the file.'
      return [refuse(path, `${file} cannot be read (${codeOf(error)})`, fix)]
    }
    return [refuse(path, `${file} is no tokenizer.json`, 'Name the tokenizer.json of the model.')]
  })
}

/** Every file that is named, each once. */
export function tokenizerFilesOf({ upstreams }: Section): string[] {
  return [...new Set(upstreams.flatMap(({ tokenizer }) => tokenizer?.file ?? []))]
}

/** The section with every path as `place` gives it: relative ones are beside the configuration. */
export function placeTokenizerFiles(section: Section, place: (path: string) => string): Section {
  const upstreams = section.upstreams.map((upstream) => {
    const file = upstream.tokenizer?.file
    return file === undefined ? upstream : { ...upstream, tokenizer: { file: place(file) } }
  })
  return { ...section, upstreams }
}
