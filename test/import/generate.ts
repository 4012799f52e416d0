/** Writes the tables of cli/docs/moving.md: what `gw import` makes of each field of the recipes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MovedField, OUTCOME_WORDS } from '../../cli/moving/report.ts'
import { SOURCE_NAMES } from '../../cli/moving/source-names.ts'
import { movedOf, RECIPES } from './recipes.ts'

const PAGE = join(import.meta.dirname, '../../cli/docs/moving.md')
const START = '<!-- generated: fields -->'
const END = '<!-- end -->'

/** Lists lose their positions, and names that a user chose become NAME. */
function patternOf(path: string): string {
  return path
    .replaceAll(/\[\d+\]/g, '[]')
    .replaceAll(/\["[^"]*"\]/g, '.NAME')
    .replace(/^(providers|mcp_servers|environment_variables)\.[\w-]+/, '$1.NAME')
    .replace(/(model_group_alias|fallbacks\[\]|deployments|extra_headers|set)\.[\w.-]+/, '$1.NAME')
}

function rowsOf(fields: readonly MovedField[]): string[] {
  const byPattern = Map.groupBy(fields, ({ path }) => patternOf(path))
  return [...byPattern].map(([pattern, its]) => {
    const words = [...new Set(its.map(({ outcome }) => OUTCOME_WORDS[outcome]))].join('; ')
    const became = [...new Set(its.flatMap((one) => one.became.map(patternOf)))].slice(0, 2)
    const notes = [...new Set(its.flatMap(({ note }) => (note === undefined ? [] : [note])))]
    const places = became.map((one) => `\`${one}\``).join(', ')
    return `| \`${pattern}\` | ${words} | ${places} | ${notes.slice(0, 2).join('; ').replaceAll('|', '\\|')} |`
  })
}

const tables = SOURCE_NAMES.map((from) => {
  const fields = RECIPES.filter((one) => one.from === from).flatMap((one) => movedOf(one).fields)
  const head = `| field | outcome | becomes | what changed, or why not |\n| --- | --- | --- | --- |`
  return `### Fields of ${from}\n\n${head}\n${rowsOf(fields).toSorted().join('\n')}`
})

const [before, rest] = readFileSync(PAGE, 'utf8').split(START)
const after = rest?.split(END)[1]
if (before === undefined || after === undefined) throw new Error(`${PAGE} has no ${START} … ${END}`)
writeFileSync(PAGE, `${before}${START}\n\n${tables.join('\n\n')}\n\n${END}${after}`)
