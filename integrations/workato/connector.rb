# frozen_string_literal: true

# A custom connector for Workato: paste it into a new connector of the SDK. docs/integrations/workato.md says how.
{
  title: 'Leadtap',

  connection: {
    fields: [
      {
        name: 'base_url',
        label: 'Base address',
        optional: false,
        hint: 'Such as https://leads.example.com or https://example.com/api'
      },
      {
        name: 'token',
        label: 'Access token',
        control_type: 'password',
        optional: false,
        hint: 'The operator of Leadtap issues it. Your user needs the Professional plan.'
      }
    ],

    authorization: {
      type: 'custom_auth',
      apply: lambda do |connection|
        headers('Authorization' => "Bearer #{connection['token'].strip}")
      end
    },

    base_uri: lambda do |connection|
      "#{connection['base_url'].strip.sub(%r{(?<!/)/+\z}, '')}/"
    end
  },

  test: lambda do |connection|
    unless connection['base_url'] =~ %r{\A\s*https?://[^/\s]}i
      error("\"#{connection['base_url']}\" is not a base address. It begins with https:// and looks like " \
            'https://leads.example.com or https://example.com/api.')
    end

    call('read_page', { limit: 1 })
  end,

  methods: {
    # One request: the leads, and the `since` of the next one. Anything else is an error with a sentence that says what to do.
    # The body is read as text: as JSON, Workato would show its parser's message and the page that it could not parse.
    read_page: lambda do |query|
      get('automation/new-leads')
        .params(query)
        .response_format_raw
        .after_error_response(/.*/) do |code, body, headers, message|
          error(call('explain_failure', { code: code, body: body.to_s, headers: headers, message: message }))
        end
        .after_response do |code, body, headers|
          leads = body.to_s =~ /\A\s*\[.*\]\s*\z/m ? parse_json(body) : nil
          link = (headers['link'] || headers['Link']).to_s
          next_since = link[/<[^>]*[?&]since=([^&>]+)[^>]*>\s*;\s*rel="next"/, 1]
          are_leads = leads && leads.all? do |lead|
            lead.is_a?(Hash) && lead['createdAt'].is_a?(String) && lead['automation_trigger_id'].is_a?(String)
          end
          unless are_leads && next_since
            error("The base address answered #{code}, but not with a list of leads of Leadtap. " \
                  'Check the base address: another page or program answers there.')
          end

          { 'leads' => leads, 'next_since' => next_since.gsub('%3A', ':') }
        end
    end,

    # The leads after the cursor. The cursor is the createdAt of the last lead: unique within the company and rising, so no page edge
    # splits a tie.
    poll_leads: lambda do |state|
      closure = state[:closure]
      since = closure.present? ? closure['since'] : state[:since].presence&.to_time&.utc&.iso8601(3)
      if since.blank?
        # Leadtap names its time even for an empty list. From 1970, a user who sees no lead yet would get old leads that move
        # to the user's branch later.
        next { events: [], next_poll: { 'since' => call('read_page', { limit: 1 })['next_since'] }, can_poll_more: false }
      end

      leads = call('read_page', { since: since })['leads']
      {
        events: leads,
        next_poll: { 'since' => leads.present? ? leads.last['createdAt'] : since },
        can_poll_more: leads.length == 100
      }
    end,

    subscribe: lambda do |url|
      post('automation/hooks', { url: url })
        .response_format_raw
        .after_error_response(/.*/) do |code, body, headers, message|
          if code == 404 && body.to_s.include?('no-such-resource')
            error('This Leadtap sends no events: its operator has switched them off, or it is an older version. ' \
                  'Use the trigger "New lead" instead.')
          end
          error(call('explain_failure', { code: code, body: body.to_s, headers: headers, message: message }))
        end
        .after_response do |code, body, _headers|
          hook = body.to_s =~ /\A\s*\{.*\}\s*\z/m ? parse_json(body) : {}
          unless hook['id'].is_a?(String)
            error("The base address answered #{code}, but not with a subscription of Leadtap. " \
                  'Check the base address: another page or program answers there.')
          end

          { 'id' => hook['id'] }
        end
    end,

    unsubscribe: lambda do |id|
      delete("automation/hooks/#{id}")
        .response_format_raw
        .after_error_response(/.*/) do |code, body, headers, message|
          error(call('explain_failure', { code: code, body: body.to_s, headers: headers, message: message }))
        end
        .after_response { |_code, _body, _headers| {} }
    end,

    # The sentence of the service, not the raw body. A body that is not Leadtap's, such as a proxy's page, is not shown.
    explain_failure: lambda do |answer|
      # A connection that is cut or times out has no code, no body and no headers.
      if answer[:code].blank?
        next "The base address did not answer: #{answer[:message]}. The next attempt sends the same request; nothing is lost."
      end

      retry_after = answer[:headers]['retry_after'] || answer[:headers]['Retry-After']
      problem = answer[:body] =~ /\A\s*\{.*\}\s*\z/m ? parse_json(answer[:body]) : {}
      reason =
        if problem['detail'].present?
          "Leadtap answered #{answer[:code]}: #{problem['detail']}"
        else
          "The base address answered #{answer[:code]}, but not as Leadtap does. " \
            'Check the base address, and what stands before Leadtap, such as a proxy.'
        end
      retry_after.present? ? "#{reason} The request passes in #{retry_after} s; nothing is lost." : reason
    end
  },

  object_definitions: {
    lead: {
      fields: lambda do |_connection, _config_fields|
        [
          # generated: lead fields. `npm run generate` writes them from packages/contract/src/lead-fields.ts.
          { name: 'id', label: 'Lead ID' },
          { name: 'firstName', label: 'First name' },
          { name: 'lastName', label: 'Last name' },
          { name: 'fullName', label: 'Full name' },
          { name: 'phone1', label: 'Phone' },
          { name: 'phone2', label: 'Second phone' },
          { name: 'email', label: 'Email' },
          { name: 'address', label: 'Address' },
          { name: 'postalCode', label: 'Postal code' },
          { name: 'addressNotes', label: 'Address notes' },
          { name: 'appointmentDateTime', label: 'Appointment', type: 'date_time' },
          { name: 'timeslot', label: 'Time slot' },
          { name: 'statusValue', label: 'Status code' },
          {
            name: 'status', label: 'Status', type: 'object',
            properties: [
              { name: 'value', label: 'Status code in detail' },
              { name: 'label', label: 'Status label' },
              { name: 'color', label: 'Status color' },
              { name: 'final', label: 'Status is final', type: 'boolean' }
            ]
          },
          { name: 'customFields', label: 'Custom fields', type: 'object', properties: [] },
          { name: 'images', label: 'Images', type: 'array', of: 'string' },
          { name: 'sameDay', label: 'Same day', type: 'boolean' },
          { name: 'createdAt', label: 'Created at', type: 'date_time' },
          { name: 'updatedAt', label: 'Updated at', type: 'date_time' },
          { name: 'companyName', label: 'Company' },
          { name: 'branchName', label: 'Branch' },
          { name: 'departmentName', label: 'Department' },
          { name: 'automation_trigger_id', label: 'Unique ID' },
          { name: 'automation_created_at', label: 'Received at', type: 'date_time' }
          # end: lead fields
        ]
      end
    },

    start: {
      fields: lambda do |_connection, _config_fields|
        [
          {
            name: 'since',
            label: 'When first started, this recipe should pick up leads from',
            type: 'timestamp',
            optional: true,
            sticky: true,
            hint: 'Leads created after this time come too. Empty: only those that come from now on.'
          }
        ]
      end
    }
  },

  triggers: {
    # Hybrid: for each event Workato calls `poll` with the closure, also when the recipe starts and every 12 hours. So an event has
    # nothing that must be verified: a forged one only causes a poll.
    new_lead_instant: {
      title: 'New lead (instant)',
      subtitle: 'Triggers within seconds when a new lead arrives in Leadtap',
      description: "New <span class='provider'>lead</span> in <span class='provider'>Leadtap</span>, at once",
      help: 'Each lead creates a job, oldest first. Leadtap tells Workato when to poll.',

      input_fields: lambda do |object_definitions|
        object_definitions['start']
      end,

      webhook_subscribe: lambda do |webhook_url, _connection, _input|
        call('subscribe', webhook_url)
      end,

      webhook_unsubscribe: lambda do |webhook|
        call('unsubscribe', webhook['id'])
      end,

      poll: lambda do |_connection, input, closure|
        call('poll_leads', { since: input['since'], closure: closure })
      end,

      dedup: lambda do |lead|
        lead['automation_trigger_id']
      end,

      output_fields: lambda do |object_definitions|
        object_definitions['lead']
      end,

      sample_output: lambda do |_connection, _input|
        call('read_page', { limit: 1 })['leads'].first || {}
      end
    },

    new_lead: {
      title: 'New lead',
      subtitle: 'Triggers when a new lead arrives in Leadtap',
      description: "New <span class='provider'>lead</span> in <span class='provider'>Leadtap</span>",
      help: 'Each lead creates a job, oldest first. Workato polls on a schedule.',

      input_fields: lambda do |object_definitions|
        object_definitions['start']
      end,

      poll: lambda do |_connection, input, closure|
        call('poll_leads', { since: input['since'], closure: closure })
      end,

      dedup: lambda do |lead|
        lead['automation_trigger_id']
      end,

      output_fields: lambda do |object_definitions|
        object_definitions['lead']
      end,

      sample_output: lambda do |_connection, _input|
        call('read_page', { limit: 1 })['leads'].first || {}
      end
    }
  }
}
