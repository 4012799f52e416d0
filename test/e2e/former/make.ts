/**
 * Packages the chart of a commit, and records the commit, for the test of upgrades: `node
 * test/e2e/former/make.ts COMMIT VERSION`.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { providePrograms } from '../../helpers/kubernetes/programs.ts'

const ROOT = join(import.meta.dirname, '../../..')

async function main(): Promise<number> {
  const [commit, version] = process.argv.slice(2)
  if (commit === undefined || version === undefined) {
    process.stderr.write('usage: node test/e2e/former/make.ts COMMIT VERSION\n')
    return 64
  }
  const { helm = 'helm' } = await providePrograms(['helm'])
  const folder = mkdtempSync(join(tmpdir(), 'gw-former-'))
  try {
    const input = execFileSync('git', ['-C', ROOT, 'archive', commit, 'charts/gw'])
    execFileSync('tar', ['-x', '-C', folder], { input })
    const chart = join(folder, 'charts/gw')
    const args = ['package', chart, '--version', version, '-d', import.meta.dirname]
    execFileSync(helm, args, { stdio: 'inherit' })
    const hash = execFileSync('git', ['-C', ROOT, 'rev-parse', `${commit}^{commit}`])
    writeFileSync(join(import.meta.dirname, 'commit'), hash)
    return 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}

process.exit(await main())
