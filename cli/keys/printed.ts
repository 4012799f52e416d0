/** A new key as it is printed, once. */
import { type Format, printData } from '../printing/formats.ts'
import { printText } from '../printing/output.ts'
import type { Made } from './making.ts'

/** `stored`: the place of the stored record. */
export async function printMade(
  made: Made,
  { output }: { readonly output: Format },
  stored: string | undefined,
): Promise<void> {
  const { key, record } = made
  const print = () => printOnce(made, stored)
  await printData(output, { value: { key, record }, names: [record.id], print })
}

async function printOnce({ key, record }: Made, stored: string | undefined): Promise<void> {
  const shownOnce = 'The key is shown only once; store it like other secrets:'
  if (stored !== undefined)
    return printText(
      `${shownOnce}\n\n${key}\n\nIts record is stored as "${record.id}" in ${stored}.`,
    )
  const { stringify } = await import('yaml')
  const snippet = stringify([record], { lineWidth: 0 })
  printText(`\
${shownOnce}

${key}

Its record, to be pasted under gw.api_keys; it holds only the hash of the key:

${snippet.replaceAll(/^(?=.)/gm, '    ')}`)
}
