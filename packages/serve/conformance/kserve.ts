/**
 * The command `pnpm test:kserve`, which validates deploy/kserve and the pods of deploy/kubernetes against the custom resource
 * definitions of KServe, and answers of the server against the Open Inference Protocol. TENON_KSERVE names a checkout of kserve/kserve,
 * and TENON_OPEN_INFERENCE one of kserve/open-inference-protocol.
 */
import { join } from 'node:path'
import { check, folderOf, report, reportMissing, type Outcome } from '@tenon/config/conformance'
import { checkAnswers, SCHEMAS } from './kserve/answers.ts'
import { secureDeployment } from './secure-deployment.ts'
import { DEFINITIONS, misspelled, readManifests, Resources, type Json, type Manifest } from './kserve/resources.ts'

const deploy = join(import.meta.dirname, '../../../deploy')

/** The pods of the deployments, as those of an inference service, because the schema of those contains the schema of pods. */
function podsOfDeployments(): Manifest[] {
  const plain = readManifests(join(deploy, 'kubernetes')).filter(({ content }) => content['kind'] === 'Deployment')
  const all = [...plain, { file: 'secure/deployment.yaml', content: secureDeployment() as Json }]
  return all.map(({ file, content }) => {
    const { template } = content['spec'] as { readonly template: { readonly spec: Json } }
    const service = { apiVersion: 'serving.kserve.io/v1beta1', kind: 'InferenceService', metadata: content['metadata'] }
    return { file, content: { ...service, spec: { predictor: template.spec } } }
  })
}

/** Checks that each manifest has no mistake, and that one letter more in any of its fields is a mistake. */
async function checkManifests(checkout: string): Promise<Outcome[]> {
  const resources = new Resources(checkout)
  const outcomes: Outcome[] = []
  const own = ['kserve', 'kserve/secure'].flatMap((path) => readManifests(join(deploy, path)))
  for (const { file, content } of [...own, ...podsOfDeployments()]) {
    const { name } = content['metadata'] as { readonly name: string }
    outcomes.push(await check(`${file}, ${name}: valid`, () => resources.check(content)))
    const all = [...misspelled(content)]
    outcomes.push(
      await check(`${file}, ${name}: not valid with any of ${all.length} fields misspelled`, () => {
        const accepted = all.filter(([, copy]) => resources.accepts(copy)).map(([path]) => path)
        if (accepted.length > 0) throw new Error(`the schema accepts a wrong spelling of ${accepted.join(', ')}`)
      }),
    )
  }
  return outcomes
}

const missing: string[] = []
const kserve = folderOf('TENON_KSERVE', 'kserve/kserve', DEFINITIONS, missing)
const protocol = folderOf('TENON_OPEN_INFERENCE', 'kserve/open-inference-protocol', SCHEMAS, missing)
if (missing.length > 0) reportMissing('pnpm test:kserve', missing)
else report([...(await checkManifests(kserve)), ...(await checkAnswers(protocol))])
