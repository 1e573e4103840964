"""What the site takes as it grows: measured (`growth`), and worked out from that on paper (`paper`)."""
