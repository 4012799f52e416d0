/** A configuration at a glance: the names in each of its lists. */
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { printTable } from './tables/table.ts'

/** `gw config show -o table`. */
export function printSections(document: unknown, isWide: boolean): void {
  const sections = Object.entries(Object(valueBelow(document, 'gw')))
  const rows = sections.map(([section, value]) => {
    const names = namesIn(value)
    return [section, names?.length, names?.join(', ')]
  })
  printTable(['SECTION', 'ENTRIES', 'NAMES'], rows, isWide)
}

/** undefined if the section is a group of settings. */
function namesIn(value: unknown): string[] | undefined {
  if (Array.isArray(value)) {
    const names = value.map((entry) => valueBelow(entry, 'name') ?? valueBelow(entry, 'id'))
    return names.map((name, index) => String(name ?? index))
  }
  if (!isRecord(value) || Object.values(value).some((entry) => typeof entry !== 'string')) return
  return Object.keys(value)
}
