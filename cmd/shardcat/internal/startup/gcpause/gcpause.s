// This file lets setPercent be declared without a body.
