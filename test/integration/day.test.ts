/**
 * Pages whose commands, in order, print what the page shows. `node test/integration/day.test.ts
 * --write` rewrites them.
 */
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import '../helpers/clear-of-midnight.ts'
import { playPage } from './day/play.ts'

const GUIDES = globSync('cli/docs/guides/*.md').filter((name) =>
  readFileSync(name, 'utf8').includes('```console'),
)

for (const name of ['cli/docs/day.md', ...GUIDES])
  test(`the commands of ${name} print what the page shows`, () => playPage(name))
