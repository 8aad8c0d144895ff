import { chromium } from 'playwright-core';
import { readFileSync } from 'node:fs';
const url = readFileSync('/tmp/ov/demo.log','utf8').match(/http:\S+#token=\S+/)[0];
const ago = (s)=> new Date(Date.now()-s*1000).toISOString();
const hours = (f)=> Array.from({length:24},(_, i)=>f(i));
const c = (o)=>({ id:o.name, tokenId:o.name, isThisToken:false, state:'active', problem:null, fix:null, hook:null, firstPollAt:ago(9e5), lastPollAt:ago(40), lastStatus:200, usualIntervalS:120, confirmedThrough:null, deliveredThrough:null, gaps:[], pendingLeads:0,pendingSince:null,skippedLeads:0,skippedSince:null,tokenEnded:null,isAwaited:false, last24h: hours(i=>i<5?null:{leads:[0,2,5,1,7,0,3][i%7],failed:0}), ...o});
const hook = (host,id)=>({count:1,send:'lead',id,host,announcedThrough:ago(3),state:'active',lastEventAt:ago(3),lastStatus:200,failures:0,isAllowed:true,isAccepted:true,failingSince:null});
const s = (o)=>({ id:'s'+o.name, tokenId:o.name, source:null, lastRequestAt:ago(12), lastAcceptedAt:ago(12), lastRefusal:null, accepted30d:100, refused30d:0, fix:null, last24h: hours(i=>({leads:[3,2,5,1,7,0,3][i%7],failed:0})), ...o});
const states = {
 mixed: { consumers: { summary:{level:'error',message:'Workato: should have polled 58 min ago; 2 leads wait.'}, consumers:[
   c({name:'Zapier',level:'good',message:'at once, 0.3 s',hook:hook('hooks.zapier.com','h1'),isThisToken:true}),
   c({name:'n8n',level:'good',message:'polled 40 s ago'}),
   c({name:'Workato',level:'error',problem:'consumers-stale',message:'stopped polling 1 h ago, usually every 2 min; 2 leads wait, the oldest for 58 min',fix:'Open the recipe in Workato and look whether it is started and without an error. If it should not poll any more, run `leadtap consumers forget d00f`.', last24h: hours(i=>i<3?null:i>21?{leads:0,failed:0}:i===20?{leads:1,failed:3}:{leads:[3,2,5,1,7,0,3][i%7],failed:0})}),
   c({name:'Old test',level:'inactive',message:'last polled 40 days ago'}) ]},
  senders: { senders: [ s({name:'Website form',level:'good',message:'last lead 12 s ago'}), s({name:'Landing page',level:'error',message:'15 requests refused since Tuesday, with 401 token-expired. They are kept.',fix:'Run `leadtap token issue --user ada --name "Landing page" --scope leads:write` and put the new token into the form, then `leadtap leads refused accept`.',last24h:hours(i=>i<10?{leads:[3,2,5,1,7,0,3][i%7],failed:0}:i%3?{leads:0,failed:2}:{leads:0,failed:0})}) ] } },
 good: { consumers: { summary:{level:'good',message:'41 leads since Monday that your automations may see reached one of them. The last one 12 s ago.'}, consumers:[
   c({name:'Zapier',level:'good',message:'at once, 0.3 s',hook:hook('hooks.zapier.com','h1'),isThisToken:true}), c({name:'n8n',level:'good',message:'polled 40 s ago'}) ]},
  senders: { senders: [ s({name:'Website form',level:'good',message:'last lead 12 s ago'}) ] } },
 empty: { consumers: { summary:{level:'unknown',message:'Nothing polls yet with your tokens.'}, consumers:[]}, senders:{senders:[]} },
};
const only = process.argv[2]?.split(',') ?? Object.keys(states);
const widths = (process.argv[3] ?? '1440,390').split(',').map(Number);
const themes = (process.argv[4] ?? 'light').split(',');
const browser = await chromium.launch({executablePath:'/usr/bin/chromium',args:['--no-sandbox']});
for (const name of only) for (const width of widths) for (const theme of themes) {
  const ctx = await browser.newContext({viewport:{width,height:width<500?844:900}, colorScheme: theme==='dark'?'dark':'light', forcedColors: theme==='forced'?'active':'none', reducedMotion:'reduce', locale:'en-GB'});
  const page = await ctx.newPage();
  page.on('console', m=>m.type()==='error'&&console.log(m.text()));
  page.on('pageerror', e=>console.log(String(e)));
  await page.addInitScript(()=>{ globalThis.cls=0; new PerformanceObserver(l=>{for(const e of l.getEntries()) globalThis.cls+=e.value}).observe({type:'layout-shift',buffered:true}); });
  await page.route('**/automation/consumers', r=>r.fulfill({json:states[name].consumers}));
  await page.route('**/automation/senders', r=>r.fulfill({json:states[name].senders}));
  await page.goto(url);
  await page.locator('.newest .lead-row').first().waitFor();
  await page.waitForTimeout(300);
  console.log(name,width,theme,'cls',await page.evaluate(()=>globalThis.cls));
  await page.screenshot({path:`/tmp/ov/${name}-${width}-${theme}.png`, fullPage: width<500});
  if (theme==='print') { await page.pdf({path:'/tmp/ov/x.pdf'}); }
  await ctx.close();
}
await browser.close();
