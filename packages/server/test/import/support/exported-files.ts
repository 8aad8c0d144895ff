/**
 * Files as other programs export them: their headers, separators, encodings, times, footers and blank lines. The people are
 * invented, and the files are written by hand after descriptions of these exports: none was exported by the program itself.
 */
const utf16 = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');
const lines = (...rows: string[]): string => rows.map((row) => `${row}\r\n`).join('');

export interface ExportedFile {
  readonly name: string;
  readonly content: Buffer;
  /** The map that gives the most fields their columns, without a rejected row. */
  readonly map: Readonly<Record<string, string>>;
  /** Options that the file also needs. */
  readonly flags?: readonly string[];
  readonly leads: readonly object[];
  readonly rejected?: number;
}

const hubspot: ExportedFile = {
  name: 'hubspot-crm-exports-all-contacts.csv',
  content: Buffer.from(
    lines(
      '"Record ID","First Name","Last Name","Email","Phone Number","Mobile Phone Number","Lead Status","Create Date","Associated Company","Postal Code","Contact owner"',
      '"901","Camille","Durand","camille@example.com","+33 6 00 00 00 00","","New","2024-03-12 09:14","Durand SA","69003","Inès Moreau"',
      '"902","John","Smith","JOHN@Example.com","","+1 (415) 555-0101","Contacted","2024-03-15 14:30","","94105",""',
    ),
  ),
  map: {
    ...{ 'Record ID': 'id', 'First Name': 'firstName', 'Last Name': 'lastName', Email: 'email' },
    ...{ 'Phone Number': 'phone1', 'Mobile Phone Number': 'phone2', 'Lead Status': 'statusValue' },
    ...{ 'Create Date': 'customFields.Create Date', 'Postal Code': 'postalCode' },
    'Associated Company': 'customFields.Associated Company',
    'Contact owner': 'customFields.Contact owner',
  },
  leads: [
    { id: '901', firstName: 'Camille', phone1: '+33 6 00 00 00 00', postalCode: '69003', statusValue: 'NEW' },
    { id: '902', lastName: 'Smith', phone2: '+1 (415) 555-0101', statusValue: 'CONTACTED' },
  ],
};

const salesforce: ExportedFile = {
  name: 'report1700000000000.csv',
  content: Buffer.from(
    lines(
      '"Lead Owner","First Name","Last Name","Company / Account","Email","Phone","Mobile","Street","Zip/Postal Code","Lead Status","Create Date","Lead ID"',
      '"Ada Moreau","Grace","Hopper","Eckert","grace@example.com","(212) 555-0100","","1 Main St","10001","Open - Not Contacted","3/15/2024","00QB0000001abcD"',
      '"Ada Moreau","Alan","Turing","","alan@example.com","","07700 900123","","","Working - Contacted","3/5/2024","00QB0000001abcE"',
      '',
      '',
      '"Grand Totals (2 records)"',
      '"Confidential Information - Do Not Distribute"',
      '"Copyright (c) 2000-2026 salesforce.com, inc. All rights reserved."',
    ),
  ),
  map: {
    ...{ 'Lead Owner': 'customFields.Lead Owner', 'First Name': 'firstName', 'Last Name': 'lastName' },
    'Company / Account': 'customFields.Company / Account',
    ...{ Email: 'email', Phone: 'phone1', Mobile: 'phone2', Street: 'address' },
    ...{ 'Zip/Postal Code': 'postalCode', 'Lead ID': 'id', 'Create Date': 'customFields.Create Date' },
    'Lead Status': 'customFields.Lead Status',
  },
  leads: [
    { id: '00QB0000001abcD', firstName: 'Grace', address: '1 Main St', postalCode: '10001' },
    { id: '00QB0000001abcE', phone1: null, phone2: '07700 900123' },
  ],
  rejected: 3,
};

const pipedrive: ExportedFile = {
  name: 'leads-20260912-1.csv',
  content: Buffer.from(
    lines(
      '"Lead - ID","Lead - Title","Person - Name","Person - Email - Work","Person - Email - Home","Person - Phone - Work","Person - Phone - Mobile","Organization - Name"',
      '"adf21080-0e10-11eb-879b-05d71fb426ec","Roof","Camille Durand","camille@example.com","","+33 6 00 00 00 00","+33 6 00 00 00 01","Durand SA"',
      '"adf21080-0e10-11eb-879b-05d71fb426ed","Solar","John Smith","john@example.com","","","+1 (415) 555-0101",""',
    ),
  ),
  map: {
    ...{ 'Lead - ID': 'id', 'Lead - Title': 'customFields.Lead - Title', 'Person - Name': 'fullName' },
    ...{ 'Person - Email - Work': 'email', 'Person - Email - Home': 'customFields.Person - Email - Home' },
    ...{ 'Person - Phone - Work': 'phone1', 'Person - Phone - Mobile': 'phone2' },
    'Organization - Name': 'customFields.Organization - Name',
  },
  leads: [
    { fullName: 'Camille Durand', phone1: '+33 6 00 00 00 00', phone2: '+33 6 00 00 00 01' },
    { fullName: 'John Smith', email: 'john@example.com', phone2: '+1 (415) 555-0101' },
  ],
};

const facebook: ExportedFile = {
  name: 'Roof_2026-11-02_Leads.csv',
  content: utf16(
    [
      'id\tcreated_time\tad_id\tad_name\tadset_id\tadset_name\tcampaign_id\tcampaign_name\tform_id\tform_name\tis_organic\tplatform\tfull_name\tphone_number\twork_email\tzip_code\tinbox_url\tlead_status',
      'l:4280180252203503\t2026-09-12T15:05:13+05:30\tag:1202\tRoof\tas:1203\tall\tc:1204\tautumn\tf:2013\troof\tFALSE\tig\tÉlodie Petit\tp:+33612345678\telodie@example.com\tz:69003\t\tCREATED',
      'l:4280180252203504\t2026-09-12T16:05:13+05:30\tag:1202\tRoof\tas:1203\tall\tc:1204\tautumn\tf:2013\troof\tFALSE\tfb\tBo Berg\tp:+4917012345678\tbo@example.com\tz:50667\t\tCREATED',
      '',
    ].join('\n'),
  ),
  map: {
    ...{ id: 'id', created_time: 'customFields.created_time' },
    ...Object.fromEntries(
      [
        ...[
          'ad_id',
          'ad_name',
          'adset_id',
          'adset_name',
          'campaign_id',
          'campaign_name',
          'form_id',
          'form_name',
        ],
        ...['is_organic', 'platform', 'inbox_url', 'lead_status'],
      ].map((column) => [column, `customFields.${column}`]),
    ),
    ...{ full_name: 'fullName', phone_number: 'phone1', work_email: 'email', zip_code: 'postalCode' },
  },
  leads: [
    {
      ...{ id: '4280180252203503', fullName: 'Élodie Petit', phone1: '+33612345678' },
      ...{ email: 'elodie@example.com', postalCode: '69003' },
      customFields: { created_time: '2026-09-12T15:05:13+05:30', platform: 'ig', lead_status: 'CREATED' },
    },
    { id: '4280180252203504', phone1: '+4917012345678', postalCode: '50667' },
  ],
};

const googleAds: ExportedFile = {
  name: 'leads_google_ads.csv',
  content: Buffer.from(
    lines(
      'Lead ID,Lead Submit Time,Form ID,Campaign ID,GCLID,Full Name,User Email,User Phone,Postal Code,City',
      'TeSter-123-ABC,2026-09-26T12:30:00Z,40000000001,20000000001,Cj0KCQ,Ada Moreau,ada@example.com,+33170189900,69003,Lyon',
    ),
  ),
  map: {
    ...{
      'Lead ID': 'id',
      'Lead Submit Time': 'customFields.Lead Submit Time',
      'Form ID': 'customFields.Form ID',
    },
    ...{ 'Campaign ID': 'customFields.Campaign ID', GCLID: 'customFields.GCLID', 'Full Name': 'fullName' },
    ...{
      'User Email': 'email',
      'User Phone': 'phone1',
      'Postal Code': 'postalCode',
      City: 'customFields.City',
    },
  },
  leads: [{ id: 'TeSter-123-ABC', fullName: 'Ada Moreau', phone1: '+33170189900', postalCode: '69003' }],
};

const typeform: ExportedFile = {
  name: 'responses.csv',
  content: Buffer.from(
    [
      `#,First name,Phone number,Email,What's your project?,Response Type,Start Date (UTC),Stage Date (UTC),Submit Date (UTC),Network ID,Tags`,
      `068127e3d5e9ca5f5fac8e04fa692a9e,Ada,'+33170189900,ada@example.com,"A leak, in the roof",completed,2026-04-03 09:05:14,,2026-04-03 09:05:40,d3560842b2,`,
      '168127e3d5e9ca5f5fac8e04fa692a9e,Bo,,bo@example.com,Solar,completed,2026-04-03 10:05:14,,2026-04-03 10:05:40,d3560842b2,',
      '',
    ].join('\n'),
  ),
  map: {
    ...{ '#': 'id', 'First name': 'firstName', 'Phone number': 'phone1', Email: 'email' },
    "What's your project?": "customFields.What's your project?",
    'Response Type': 'customFields.Response Type',
    'Start Date (UTC)': 'customFields.Start Date (UTC)',
    'Stage Date (UTC)': 'customFields.Stage Date (UTC)',
    'Submit Date (UTC)': 'customFields.Submit Date (UTC)',
    ...{ 'Network ID': 'customFields.Network ID', Tags: 'customFields.Tags' },
  },
  leads: [
    { id: '068127e3d5e9ca5f5fac8e04fa692a9e', firstName: 'Ada', phone1: '+33170189900' },
    { id: '168127e3d5e9ca5f5fac8e04fa692a9e', email: 'bo@example.com' },
  ],
};

const germanExcel: ExportedFile = {
  name: 'Kunden.csv',
  content: Buffer.from(
    lines(
      'Lfd. Nr.;Kundennr;Vorname;Name;Telefon;Mobil;E-Mail;Straße;PLZ;Termin;Status;Notiz;;',
      '1;K-1001;Zoë;Groß;030 123456;;zoe@example.com;Hauptstraße 5;01067;02.11.2026 14:03;Neu;ruft zurück;;',
      '2;K-1002;Jürgen;Weiß;;0170 1234567;juergen@example.com;;50667;25.12.2026 09:00;Neu;;;',
      ';;;;;;;;;;;;;',
    ),
    'latin1',
  ),
  flags: ['--date-format', 'DD.MM.YYYY HH:mm', '--time-zone', 'Europe/Berlin'],
  map: {
    ...{ 'Lfd. Nr.': 'customFields.Lfd. Nr.', Kundennr: 'id', Vorname: 'firstName', Name: 'lastName' },
    ...{ Telefon: 'phone1', Mobil: 'phone2', 'E-Mail': 'email', Straße: 'address', PLZ: 'postalCode' },
    ...{ Termin: 'appointmentDateTime', Status: 'customFields.Status', Notiz: 'customFields.Notiz' },
  },
  leads: [
    {
      ...{ id: 'K-1001', firstName: 'Zoë', lastName: 'Groß', phone1: '030 123456', postalCode: '01067' },
      ...{ address: 'Hauptstraße 5', appointmentDateTime: '2026-11-02T13:03:00.000Z' },
      customFields: { Notiz: 'ruft zurück', Status: 'Neu' },
    },
    { id: 'K-1002', phone2: '0170 1234567', appointmentDateTime: '2026-12-25T08:00:00.000Z' },
  ],
};

const frenchExcel: ExportedFile = {
  name: 'prospects.csv',
  content: Buffer.from(
    lines(
      'Prénom;Nom;Téléphone;Courriel;Adresse;Code postal;Date de création;Rendez-vous',
      'Élodie;Petit;06 12 34 56 78;elodie@example.com;12 rue des Lilas;69003;05/10/2026;13/11/2026 09:30',
      'Noël;Œuvrard;;noel@example.com;;75001;06/10/2026;',
    ).replace('Œ', '\u008c'),
    'latin1',
  ),
  flags: ['--date-format', 'DD/MM/YYYY HH:mm', '--time-zone', 'Europe/Berlin'],
  map: {
    ...{ Prénom: 'firstName', Nom: 'lastName', Téléphone: 'phone1', Courriel: 'email', Adresse: 'address' },
    ...{ 'Code postal': 'postalCode', 'Rendez-vous': 'appointmentDateTime' },
    'Date de création': 'customFields.Date de création',
  },
  leads: [
    { firstName: 'Élodie', postalCode: '69003', appointmentDateTime: '2026-11-13T08:30:00.000Z' },
    { lastName: 'Œuvrard', appointmentDateTime: null },
  ],
};

const numbers: ExportedFile = {
  name: 'Leads.csv',
  content: Buffer.from(
    'Name,EMAIL,phone,Zip,Appointment\nAda Moreau,ada@example.com,+33 1 70 18 99 00,69003,"11/2/2026, 2:03 PM"\nBo Berg,bo@example.com,,,"12/24/2026, 9:00 AM"',
  ),
  flags: ['--date-format', 'M/D/YYYY, h:mm A', '--time-zone', 'Europe/Berlin'],
  map: {
    Name: 'fullName',
    EMAIL: 'email',
    phone: 'phone1',
    Zip: 'postalCode',
    Appointment: 'appointmentDateTime',
  },
  leads: [
    { fullName: 'Ada Moreau', email: 'ada@example.com', appointmentDateTime: '2026-11-02T13:03:00.000Z' },
    { fullName: 'Bo Berg', appointmentDateTime: '2026-12-24T08:00:00.000Z' },
  ],
};

export const EXPORTED_FILES: readonly (readonly [program: string, file: ExportedFile])[] = [
  ['HubSpot', hubspot],
  ['Salesforce', salesforce],
  ['Pipedrive', pipedrive],
  ['Facebook Lead Ads', facebook],
  ['Google Ads', googleAds],
  ['Typeform', typeform],
  ['Excel in German', germanExcel],
  ['Excel in French', frenchExcel],
  ['Numbers', numbers],
];
