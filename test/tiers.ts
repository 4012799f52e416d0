/** Runs every tier of tests this machine can run, and says in one line why another cannot. */
import { spawnSync } from 'node:child_process'

interface Tier {
  readonly name: string
  readonly script: string
  /** Programs it cannot do without, and the Debian package that brings each. */
  readonly needs: Readonly<Record<string, string>>
}

const TIERS: readonly Tier[] = [
  { name: 'check', script: 'check', needs: {} },
  { name: 'unit and conformance', script: 'test:unit', needs: {} },
  {
    name: 'simulation',
    script: 'test:simulation',
    needs: { 'redis-server': 'redis-server' },
  },
  {
    name: 'integration',
    script: 'test:integration',
    needs: {
      python3: 'python3 python3-venv python3-pip',
      openssl: 'openssl',
      curl: 'curl',
      'redis-server': 'redis-server',
    },
  },
  {
    name: 'cluster API',
    script: 'test:cluster',
    needs: {
      python3: 'python3 python3-venv python3-pip',
      openssl: 'openssl',
      promtool: 'prometheus',
    },
  },
  {
    name: 'image',
    script: 'test:image',
    needs: { buildah: 'buildah', mmdebstrap: 'mmdebstrap' },
  },
]

function main(): number {
  let failed = false
  for (const tier of TIERS) {
    const missing = Object.entries(tier.needs).filter(([program]) => !isInstalled(program))
    if (missing.length > 0) {
      const packages = missing.map(([, name]) => name).join(' ')
      process.stdout.write(`tier ${tier.name}: cannot run, install ${packages}\n`)
      failed ||= process.env.CI === 'true'
      continue
    }
    const passed = runs(tier)
    process.stdout.write(`tier ${tier.name}: ${passed ? 'passed' : 'FAILED'}\n`)
    failed ||= !passed
  }
  // It takes a node of its own out of this machine: asked for, not found running.
  process.stdout.write('tier end to end: runs by itself, make test-e2e\n')
  return failed ? 1 : 0
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined
}

function runs(tier: Tier): boolean {
  return spawnSync('npm', ['run', '--silent', tier.script], { stdio: 'inherit' }).status === 0
}

process.exit(main())
